"""What `fleet` is made of."""
