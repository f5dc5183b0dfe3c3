title: web server, one process
program: /usr/sbin/nginx
package: nginx
port: 8080
ports: 80 8000 8888
serves: the pages

command: nginx -e stderr -p {own} -c {own}/nginx.conf
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
    listen 127.0.0.1:{port};
    root www;
  }
}
-- www/ = page.html --
