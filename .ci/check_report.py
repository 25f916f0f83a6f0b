"""Fails when any test was skipped or the browser tests did not run: a green line must mean that all was tried."""

import sys
import xml.etree.ElementTree as ElementTree

LEAST_BROWSER_TESTS = 100

cases = list(ElementTree.parse(sys.argv[1]).iter("testcase"))
skipped = [case.get("name") for case in cases if case.find("skipped") is not None]
browser = [case for case in cases if "browser" in case.get("classname", "")]
if skipped:
    sys.exit(f"skipped tests: {', '.join(skipped)}")
if len(browser) < LEAST_BROWSER_TESTS:
    sys.exit(f"only {len(browser)} browser tests ran")
print(f"{len(cases)} tests, {len(browser)} of them in a browser, none skipped")
