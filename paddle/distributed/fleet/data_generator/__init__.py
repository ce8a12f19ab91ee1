"""Scripts that prepare lines for data sets."""

from .data_generator import DataGenerator, MultiSlotDataGenerator, MultiSlotStringDataGenerator

__all__: list[str] = []
