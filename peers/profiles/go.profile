title: a static server written in Go
port: 8080
serves: what it finds in its working directory, {scratch}/NAME/files
runs: a static server for Linux (CGO_ENABLED=0) that listens on 127.0.0.1, at the port

command: {own}/program
directory: {own}/files
environment: PORT={port} GOMAXPROCS=1
-- program 0755 = {program} --
-- files/ --
