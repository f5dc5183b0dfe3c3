title: the same over TLS
program: /usr/sbin/apache2
package: apache2-bin
port: 8443
ports: 443
serves: the pages
offers: a certificate for 127.0.0.1, localhost and *.test, which has signed itself; it is below

# The settings of apache.profile, and those of TLS at the end.
command: apache2 -X -f {own}/apache.conf
user: www-data
behaviours: 1
clock: virtual
-- apache.conf --
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
ServerRoot {own}
ServerName localhost
AcceptFilter http none
AcceptFilter https none
Listen 127.0.0.1:{port}
PidFile {own}/pid
ErrorLog /dev/stderr
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
DocumentRoot {own}/www
Timeout 2592000
KeepAliveTimeout 2592000
MaxKeepAliveRequests 0
ThreadsPerChild 4
LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so
SSLEngine on
SSLSessionCache none
SSLCertificateFile {own}/certificate.pem
SSLCertificateKeyFile {own}/certificate.key
-- www/ = page.html --
-- certificate.pem = certificate.pem --
-- certificate.key 0600 = certificate.key --
