# The command in an image of Debian 12:  docker build -t outgrow .
#                                        docker run --rm -v "$PWD:/data" outgrow generate graph
# io_uring needs --security-opt seccomp=unconfined where the runtime's default refuses it; without,
# files are read by threads (`outgrow doctor`). tools/dockerfile carries out these steps without Docker.
FROM debian:12-slim AS build
WORKDIR /src
COPY . .
RUN tools/install-packages build
RUN apt-get install -y --no-install-recommends dpkg-dev
RUN make deb

FROM debian:12-slim
COPY --from=build /src/build/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && rm -r /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /data
ENTRYPOINT ["outgrow"]
