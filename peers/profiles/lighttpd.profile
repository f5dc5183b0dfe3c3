title: web server, one process
program: /usr/sbin/lighttpd
package: lighttpd
port: 8080
ports: 80
serves: the pages

command: lighttpd -D -f {own}/lighttpd.conf
-- lighttpd.conf --
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{own}/www"
server.upload-dirs = ("{own}")
server.pid-file = "{own}/pid"
index-file.names = ("index.html")
mimetype.assign = (".html" => "text/html", ".txt" => "text/plain", "" => "application/octet-stream")
server.max-keep-alive-idle = 30000
server.max-keep-alive-requests = 30000
server.max-read-idle = 30000
server.max-write-idle = 30000
-- www/ = page.html --
