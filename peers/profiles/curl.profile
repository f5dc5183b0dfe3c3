title: client of web servers
program: /usr/bin/curl
package: curl
port: 8080
ports: 80 3000 5000 8000 8888 9090
asks: URLs, and options

# -q: no .curlrc.
command: curl -q --silent --show-error
arguments: http://{sut}:{port}/
behaviours: 1
clock: virtual
