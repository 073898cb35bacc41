#!/usr/bin/env bash
# Builds the images and the chart of this version: docs/release.md.
#
#   deploy/release.sh REGISTRY FOLDER          build, lint and package
#   deploy/release.sh REGISTRY FOLDER --push   the same, then push to REGISTRY
set -euo pipefail
registry=${1:?which registry, such as ghcr.io/example?}
folder=$(realpath -m "${2:?which folder for the packaged chart?}")
push=${3:-}
cd "$(dirname "$0")/.."
version=$(sed -n 's/^version: //p' deploy/helm/mirrorwatch/Chart.yaml)

images=()
for target in agent audit audit-on-kubernetes; do
  name=mirrorwatch-$target
  image=$registry/${name%-agent}:$version
  docker build --target "$target" --tag "$image" .
  images+=("$image")
done

# The published chart installs the published image.
chart=$(mktemp -d)
trap 'rm -rf "$chart"' EXIT
cp -RL deploy/helm/mirrorwatch "$chart"
sed -i "0,/repository: \"\"/s||repository: $registry/mirrorwatch|" \
  "$chart/mirrorwatch/values.yaml"
helm lint --strict "$chart/mirrorwatch" \
  --values deploy/helm/examples/strimzi.yaml
helm package "$chart/mirrorwatch" --destination "$folder"

if [[ $push == --push ]]; then
  for image in "${images[@]}"; do
    docker push "$image"
  done
  helm push "$folder/mirrorwatch-$version.tgz" "oci://$registry/charts"
fi
