# SPDX-License-Identifier: BSD-3-Clause
"""What differs between Debian packages and RPMs, for the trials: which files, what they need, how they come, are renewed and go."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess


class Debian:
    """Packages of packaging/deb/build, with apt."""

    system: tuple[str, ...] = ()
    purges = True

    def files(self, directory: str, names: tuple[str, ...]) -> list[str]:
        found = [sorted(glob.glob(f"{directory}/{name}_*.deb")) for name in names]
        return [each[-1] for each in found if each]

    def needs(self, files: list[str]) -> set[str]:
        """Packages of the distribution that these depend on: a system without a network must have them."""
        own = {os.path.basename(file).split("_")[0] for file in files}
        needed: set[str] = set()
        for file in files:
            text = subprocess.run(["dpkg-deb", "-f", file, "Depends"], capture_output=True, text=True, check=True).stdout
            needed |= {re.split(r"[ (|]", each.strip())[0] for each in text.strip().split(",")}
        return needed - own

    def newer(self, files: list[str], directory: str) -> list[str]:
        """The same packages as the next version."""
        result = []
        for file in files:
            tree = f"{directory}/tree"
            subprocess.run(["dpkg-deb", "-R", file, tree], check=True)
            control = f"{tree}/DEBIAN/control"
            with open(control, encoding="utf-8") as stream:
                text = stream.read()
            with open(control, "w", encoding="utf-8") as stream:
                stream.write(re.sub(r"^(Version: .*)$", r"\1+next", text, flags=re.M))
            result.append(os.path.join(directory, os.path.basename(file).replace("_amd64", "+next_amd64")))
            subprocess.run(["dpkg-deb", "--build", "-Zgzip", "-z1", tree, result[-1]], check=True, stdout=subprocess.DEVNULL)
            shutil.rmtree(tree)
        return result

    def install(self, names: list[str]) -> str:
        return "apt-get install --yes " + " ".join(f"./{name}" for name in names)

    upgrade = install

    def version(self, package: str) -> str:
        return f"dpkg-query -W -f '${{Version}}' {package}"

    def remove(self, packages: str) -> str:
        return f"apt-get remove --yes {packages}"

    def purge(self, packages: str) -> str:
        return f"apt-get purge --yes {packages}"


class Rpm:
    """Packages of packaging/rpm/build, with rpm in a Debian system, whose own database knows nothing of it: dependencies are not
    looked at, and the folder of libraries is made known."""

    system = ("rpm",)
    purges = False
    # Debian's rpm looks into the home folder otherwise.
    rpm = "rpm --dbpath /var/lib/rpm"

    def files(self, directory: str, names: tuple[str, ...]) -> list[str]:
        found = [sorted(each for each in glob.glob(f"{directory}/{name}-[0-9]*.rpm") if ".src." not in each) for name in names]
        return [each[-1] for each in found if each]

    def needs(self, files: list[str]) -> set[str]:
        """By library, which the packages name, and Debian's packages that have them."""
        wanted: set[str] = set()
        for file in files:
            text = subprocess.run(["rpm", "-qp", "--requires", file], capture_output=True, text=True, check=True).stdout
            wanted |= set(re.findall(r"^(lib[^(]+\.so[.\d]*)\(", text, re.M))
        needed = {"iptables"}
        for library in wanted - {"libasrp.so.0"}:
            shown = subprocess.run(["dpkg", "-S", f"*/{library}"], capture_output=True, text=True, check=False).stdout
            needed |= {line.split(":")[0] for line in shown.splitlines() if "/lib32/" not in line and "/libx32/" not in line}
        return needed

    def newer(self, files: list[str], directory: str) -> list[str]:
        return []

    def install(self, names: list[str]) -> str:
        return (f"echo /usr/lib64 >/etc/ld.so.conf.d/lib64.conf; {self.rpm} --nodeps -iv " + " ".join(f"./{name}" for name in names))

    def upgrade(self, names: list[str]) -> str:
        return f"{self.rpm} --nodeps -Uv " + " ".join(f"./{name}" for name in names)

    def version(self, package: str) -> str:
        return f"{self.rpm} -q --qf '%{{VERSION}}-%{{RELEASE}}' {package}"

    def remove(self, packages: str) -> str:
        return f"{self.rpm} -ev {packages}"

    def purge(self, packages: str) -> str:
        return "true"


FORMATS = {"deb": Debian, "rpm": Rpm}
