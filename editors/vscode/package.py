"""Writes `gsdsl.vsix`, the package of the extension, from the files beside this one: no network, no package of npm.

`npm run build` makes `dist` anew after a change of `src` or of a dependency; that takes packages from npm.
"""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).resolve().parent
FILES = {  # the names in the package
    "package.json": "package.json",
    "README.md": "readme.md",
    "LICENSE": "LICENSE.txt",
    "language-configuration.json": "language-configuration.json",
    "syntaxes/gsm.tmLanguage.json": "syntaxes/gsm.tmLanguage.json",
    "dist/extension.js": "dist/extension.js",
    "dist/NOTICE.txt": "dist/NOTICE.txt",
}
ASSETS = {
    "Microsoft.VisualStudio.Code.Manifest": "package.json",
    "Microsoft.VisualStudio.Services.Content.Details": "readme.md",
    "Microsoft.VisualStudio.Services.Content.License": "LICENSE.txt",
}
TYPES = {
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}


def manifest(package: dict[str, Any]) -> str:
    """The description of the package that editors read, as `vsce` writes it."""
    tags = [name for language in package["contributes"]["languages"] for name in (*language["aliases"], "__ext_gsm")]
    properties = {
        "Microsoft.VisualStudio.Code.Engine": package["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionKind": "workspace",
        "Microsoft.VisualStudio.Code.ExecutesCode": "true",
        "Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown": "true",
        "Microsoft.VisualStudio.Services.Content.Pricing": "Free",
    }
    listed = "".join(f"<Property Id={quoteattr(name)} Value={quoteattr(v)}/>" for name, v in properties.items())
    assets = "".join(f'<Asset Type="{kind}" Path="extension/{f}" Addressable="true"/>' for kind, f in ASSETS.items())
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata>'
        f'<Identity Language="en-US" Id={quoteattr(package["name"])} Version={quoteattr(package["version"])} '
        f"Publisher={quoteattr(package['publisher'])}/><DisplayName>{escape(package['displayName'])}</DisplayName>"
        f'<Description xml:space="preserve">{escape(package["description"])}</Description>'
        f"<Tags>{escape(','.join(dict.fromkeys(tags)))}</Tags>"
        f"<Categories>{escape(','.join(package['categories']))}</Categories><GalleryFlags>Public</GalleryFlags>"
        f"<Properties>{listed}</Properties><License>extension/LICENSE.txt</License></Metadata>"
        '<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>'
        f"<Assets>{assets}</Assets></PackageManifest>\n"
    )


def write_package(out: Path) -> None:
    """Write the package; equal files give equal bytes."""
    types = "".join(f'<Default Extension="{end}" ContentType="{kind}"/>' for end, kind in TYPES.items())
    space = "http://schemas.openxmlformats.org/package/2006/content-types"
    stated = json.loads((HERE / "package.json").read_text(encoding="utf-8"))
    content = {
        "extension.vsixmanifest": manifest(stated).encode(),
        "[Content_Types].xml": f'<?xml version="1.0" encoding="utf-8"?><Types xmlns="{space}">{types}</Types>'.encode(),
        **{f"extension/{name}": (HERE / file).read_bytes() for file, name in FILES.items()},
    }
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    write_package(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "gsdsl.vsix")
