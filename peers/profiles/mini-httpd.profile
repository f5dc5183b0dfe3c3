title: web server, a process for each connection
program: /usr/sbin/mini_httpd
package: mini-httpd
port: 8080
ports: 80
serves: the pages

# -D: in the foreground.
command: mini_httpd -D -u root -h 127.0.0.1 -p {port} -d {own}/www -i {own}/pid
-- www/ = page.html --
