title: client of web servers
program: /usr/bin/curl
package: curl
port: 8080
asks: URLs, and options

# -q: no .curlrc.
command: curl -q --silent --show-error
arguments: http://{sut}:{port}/
behaviours: 1
clock: virtual
