#!/usr/bin/env bash
# Builds InfluxDB from its Go modules, for tests: `make servers`. Helm, and the
# generator of its chart's README, only if they are named.
#
#   tests/servers/build.sh FOLDER [influxd18] [influxd2] [helm] [helm-docs]
#
# 1.8.3 and Helm take some minutes and Go. 2.7.12 takes some minutes, Go, a C compiler,
# pkg-config and Rust (cargo); where Rust is not there it is left out.
set -euo pipefail

folder=$(realpath -m "${1:?which folder?}")
shift
wanted=("$@")
((${#wanted[@]})) || wanted=(influxd18 influxd2)

command -v go >/dev/null || {
  echo 'Go is needed: https://go.dev/doc/install' >&2
  exit 1
}
mkdir -p "$folder"
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# A module of our own around a program: Go chooses the versions that it asks
# for, and checks them against its public database of checksums.
module() {
  mkdir "$work/$1"
  cd "$work/$1"
  go mod init "local/$1"
  shift
  go get "$@"
}

influxd18() {
  # Newer than it asks for: older ones do not build with today's Go.
  module influxd18 github.com/influxdata/influxdb/cmd/influxd@v1.8.3 \
    golang.org/x/sys@v0.31.0 golang.org/x/net@v0.38.0
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=1.8.3' \
    -o "$folder/influxd18" github.com/influxdata/influxdb/cmd/influxd
  "$folder/influxd18" version
}

influxd2() {
  if ! command -v cargo >/dev/null; then
    echo 'influxd2 is left out: it takes Rust, https://rustup.rs' >&2
    return
  fi
  # A place that stays: Go remembers where libflux.a was.
  local tools=${XDG_CACHE_HOME:-$HOME/.cache}/mirrorwatch/influxd2
  mkdir -p "$tools"
  # libflux denies warnings, of which newer compilers have more.
  printf '#!/bin/sh\nexec "$@" --cap-lints warn\n' >"$tools/rustc"
  chmod +x "$tools/rustc"
  export RUSTC_WRAPPER=$tools/rustc
  # It asks for an old compiler, which rustup would fetch.
  export RUSTUP_TOOLCHAIN=${RUSTUP_TOOLCHAIN:-stable}
  # Quick to build; speed is nothing that tests ask for.
  export CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1
  export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_INCREMENTAL=0

  module influxd2 github.com/influxdata/influxdb/v2/cmd/influxd@v2.7.12 \
    github.com/influxdata/pkg-config@v0.2.14
  # Builds libflux when it is asked for it.
  go build -o "$tools/pkg-config" github.com/influxdata/pkg-config
  export PKG_CONFIG=$tools/pkg-config
  "$PKG_CONFIG" --cflags --libs flux >/dev/null
  go build -trimpath -tags sqlite_foreign_keys,sqlite_json \
    -ldflags '-s -w -X main.version=v2.7.12' \
    -o "$folder/influxd2" github.com/influxdata/influxdb/v2/cmd/influxd
  "$folder/influxd2" version
}

helm() {
  module helm helm.sh/helm/v3/cmd/helm@v3.22.0
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' \
    -o "$folder/helm" helm.sh/helm/v3/cmd/helm
  "$folder/helm" version --short
}

helm-docs() {
  module helm-docs github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2
  CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' \
    -o "$folder/helm-docs" github.com/norwoodj/helm-docs/cmd/helm-docs
  "$folder/helm-docs" --version
}

for name in "${wanted[@]}"; do
  case $name in
  influxd18 | influxd2 | helm | helm-docs) "$name" ;;
  *)
    echo "No such server: $name (influxd18, influxd2, helm, helm-docs)" >&2
    exit 2
    ;;
  esac
done
echo "In $folder. \`make\` puts it on PATH; else: export PATH=$folder:\$PATH"
