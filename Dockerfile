# Tandem in a container, with CRIU, Dropbear, merecat, and Go to build programs
# with. docs/containers.md says how to use it, and what privileges it takes:
#
#   docker build -t tandem .
#   docker run --rm --privileged -v "$PWD":/src tandem check ./cmd/client
#
# Any builder will do: nothing here needs BuildKit. The names of the base images
# are arguments, for mirrors and images of one's own. Packages come from where the
# base image gets them, modules from where GOPROXY says.
ARG GO_IMAGE=golang:1.26-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${GO_IMAGE} AS build
ARG GOPROXY
WORKDIR /tandem
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN make peers/shim/src/nd.so peers/shim/src/vdso.so \
 && CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o /image/usr/local/bin/tandem ./cmd/tandem \
 && ln -s tandem /image/usr/local/bin/tandem-ckptd \
 && ln -s tandem /image/usr/local/bin/tandem-proxy
# Go without what no build of a program needs, and its patched twin with the
# library compiled. The two share files, by hard links: so they go into one layer.
RUN sh scripts/container/prepare-go.sh /image

FROM ${BASE_IMAGE}
COPY scripts/install-criu.sh /usr/local/share/tandem/
RUN apt-get -qq -o APT::Update::Error-Mode=any update \
 && DEBIAN_FRONTEND=noninteractive apt-get -qq --yes --no-install-recommends install \
      ca-certificates dropbear-bin merecat openssh-client \
 && sh /usr/local/share/tandem/install-criu.sh \
 && rm -rf /var/lib/apt/lists/* /var/log/apt /var/log/dpkg.log
COPY --from=build /image/ /
# One directory has all that is kept from run to run, for a volume.
ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    XDG_CACHE_HOME=/var/cache/tandem XDG_STATE_HOME=/var/cache/tandem/state GOPATH=/var/cache/tandem/go
WORKDIR /src
ENTRYPOINT ["tandem"]
