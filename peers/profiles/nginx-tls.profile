title: web server over TLS, one process
program: /usr/sbin/nginx
package: nginx
port: 8443
ports: 443
preferred: yes
serves: the pages
offers: a certificate for 127.0.0.1, localhost and *.test, which has signed itself; it is below

# The settings of nginx.profile, and those of TLS.
command: nginx -e stderr -p {own} -c {own}/nginx.conf
behaviours: 1
clock: virtual
-- nginx.conf --
user root;
daemon off;
master_process off;
worker_processes 1;
error_log stderr;
pid pid;
events { worker_connections 64; }
http {
  access_log off;
  types { text/html html; text/plain txt; }
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  keepalive_timeout 30d;
  keepalive_requests 1000000;
  client_header_timeout 20d;
  client_body_timeout 20d;
  send_timeout 20d;
  server {
    listen 127.0.0.1:{port} ssl;
    ssl_certificate {own}/certificate.pem;
    ssl_certificate_key {own}/certificate.key;
    root www;
  }
}
-- www/ = page.html --
-- certificate.pem = certificate.pem --
-- certificate.key 0600 = certificate.key --
