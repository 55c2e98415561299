"""Certificates of shipped scenarios, through the command line: made, checked, and refused for another plan."""

import json
from pathlib import Path

import pytest
from support.command import run
