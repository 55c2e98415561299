"""The version of this program, which every plan names and the package is built under."""

VERSION = "0.1.0"
