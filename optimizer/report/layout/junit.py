"""JUnit XML as every report writes it: cases in suites, in signs that XML may hold."""

import re
from typing import Final
from xml.etree import ElementTree as ET

NOT_IN_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write (its production 2, Char)."""


def junit_document(root: ET.Element) -> str:
    """The document, ending in a newline; a sign that XML cannot hold is replaced, since one ends every reader.

    Args:
        root: The suites; indented in place.
    """
    for element in root.iter():
        element.text = element.text and NOT_IN_XML.sub("\ufffd", element.text)
        for name, value in element.items():
            element.set(name, NOT_IN_XML.sub("\ufffd", value))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'
