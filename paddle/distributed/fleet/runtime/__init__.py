"""What runs behind `fleet` in the processes of a job."""
