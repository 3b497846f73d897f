"""Prints a --filter for the tests that failed, from the xUnit file of `swift test`.

Exit status 1 when there is no such file (the run died), no failure in it, or too many.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def main(path: str, most: str) -> int:
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError):
        return 1
    names = [
        f"^{re.escape(case.get('classname'))}/{re.escape(case.get('name'))}"
        for case in cases
        if case.find("failure") is not None
    ]
    if not 0 < len(names) <= int(most):
        return 1
    print("|".join(names))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
