"""Every unit conversion of the project, once: decimal GB, binary GiB, milliseconds, hours in a month."""

from typing import Final

HOURS_PER_MONTH: Final = 730
"""Hours billed in a month: 8,760 hours a year over 12 months."""

MONTHS_PER_YEAR: Final = 12
DAYS_PER_YEAR: Final = 365
HOURS_PER_DAY: Final = 24
HOURS_PER_WEEK: Final = 168
MINUTES_PER_HOUR: Final = 60
SECONDS_PER_MINUTE: Final = 60
SECONDS_PER_HOUR: Final = 3600
SECONDS_PER_MONTH: Final = HOURS_PER_MONTH * SECONDS_PER_HOUR

BYTES_PER_GB: Final = 10**9
BYTES_PER_GIB: Final = 2**30
BYTES_PER_MIB: Final = 2**20
MIB_PER_GIB: Final = 2**10
BITS_PER_BYTE: Final = 8
FLOPS_PER_TFLOPS: Final = 10**12
PARAMS_PER_BILLION: Final = 10**9
MS_PER_S: Final = 1000
TOKENS_PER_MILLION: Final = 1_000_000
WATTS_PER_KILOWATT: Final = 1000
GRAMS_PER_KILOGRAM: Final = 1000
