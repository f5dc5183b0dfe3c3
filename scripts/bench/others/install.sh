#!/bin/sh
# install.sh DIRECTORY: builds Nidhugg and GenMC from their sources, and installs them below a
# directory, on Debian 12 as root. They are in no distribution. `make bench-peers` finds them if
# DIRECTORY/bin is in the path. Sources that are there already, such as on a machine that does not
# reach their home, are named by NIDHUGG and GENMC: directories with clones of the repositories.
#
# These releases are those of the figures in docs/design/measurements.md. GenMC 0.11 needs a newer
# compiler than Debian 12 has.
set -eu
[ $# -eq 1 ] || { echo "usage: install.sh DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
to=$(cd "$1" && pwd)
apt-get install -y git make g++ autoconf automake pkg-config python3 clang-14 llvm-14-dev libffi-dev \
	libboost-dev libboost-system-dev libboost-test-dev zlib1g-dev libhwloc-dev

# build NAME SOURCE REVISION [ARGUMENT-OF-CONFIGURE]
build() {
	here=$to/src/$1
	[ -d "$here" ] || git clone "$2" "$here"
	(cd "$here" && git checkout -q "$3" && autoreconf --install &&
		./configure --prefix="$to" --with-llvm=/usr/lib/llvm-14 CXXFLAGS=-O2 ${4:-} &&
		make -j"$(nproc)" && make install)
}

build nidhugg "${NIDHUGG:-https://github.com/nidhugg/nidhugg}" 0aea4d237eef
build genmc "${GENMC:-https://github.com/MPI-SWS/genmc}" v0.10.3 --with-clang=/usr/bin/clang-14
# Nidhugg looks for a compiler of this name.
ln -sf /usr/bin/clang-14 "$to/bin/clang"
