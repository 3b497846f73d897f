#!/usr/bin/env python3
"""Compiles the portable modules for iOS 15 without any of Apple's files, and prints what that system
lacks. The standard library that this machine's compiler brings says of each of its parts since when
Apple's systems have it; here it is compiled under the name of such a system. Exit status 77: the
compiler brings no text of its standard library."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "Sources"
MODULES = ("WakeBytes", "WakeCrypto", "WakeFeed")
# What must be found, or the others were not looked at.
NEWER = "func newer(_ bytes: [UInt32]) -> Int { bytes.span.count }\n"


def main():
    info = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))
    library = pathlib.Path(info["paths"]["runtimeResourcePath"])
    machine = info["target"]["triple"].split("-")[0]
    texts = list((library.parent / "swift_static/linux/Swift.swiftmodule").glob(machine + "*.swiftinterface"))
    texts = [text for text in texts if ".private." not in text.name]
    if not texts:
        sys.exit(77)
    target = ("arm64" if machine == "aarch64" else machine) + "-apple-ios15.0-simulator"
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        standard = place / "lib/iphonesimulator/Swift.swiftmodule"
        standard.mkdir(parents=True)
        text = re.sub(r"-target \S+", "-target " + target, texts[0].read_text(), count=1)
        # A function without a body here cannot have been added to older systems.
        text = re.sub(r"^@backDeployed\(.*\)\n(?=@usableFromInline\n.*unavailable_code_reached)", "",
                      text.replace(" -static ", " ", 1), flags=re.M)
        name = target.replace("ios15.0", "ios") + ".swiftinterface"
        (standard / name).write_text(text)
        for part in ("shims", "clang"):
            (place / "lib" / part).symlink_to((library / part).resolve())
        (place / "sdk").mkdir()
        (place / "sdk/SDKSettings.json").write_text(
            '{"Version": "15.0", "CanonicalName": "iphonesimulator15.0", "MaximumDeploymentTarget": "15.0.99"}')
        (place / "module.modulemap").write_text(
            'module CCrypto { header "%s" export * }\n' % (SOURCES / "CCrypto/include/CCrypto.h"))
        options = ["-target", target, "-sdk", place / "sdk", "-resource-dir", place / "lib",
                   "-module-cache-path", place / "cache", "-I", place, "-O", "-parse-as-library",
                   "-disable-objc-interop", "-disable-implicit-concurrency-module-import",
                   "-disable-implicit-string-processing-module-import", "-swift-version", "6",
                   "-package-name", "reveille", "-enable-experimental-feature", "Lifetimes"]
        for feature in ("ExistentialAny", "MemberImportVisibility", "InternalImportsByDefault"):
            options += ["-enable-upcoming-feature", feature]

        def compiled(module, files):
            return subprocess.run(
                ["swiftc", "-frontend", "-emit-module", "-module-name", module, *options, "-o",
                 place / (module + ".swiftmodule"), *files], capture_output=True, text=True)

        (place / "Newer.swift").write_text(NEWER)
        if "only available in iOS" not in compiled("Newer", [place / "Newer.swift"]).stderr:
            sys.exit("what is newer is not found")
        for module in MODULES:
            result = compiled(module, sorted((SOURCES / module).rglob("*.swift")))
            if result.returncode != 0:
                sys.exit(result.stderr)


main()
