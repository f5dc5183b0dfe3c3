title: MQTT broker, one process
program: /usr/sbin/mosquitto
package: mosquitto
port: 1883

command: mosquitto -c {own}/mosquitto.conf
-- mosquitto.conf --
listener {port} 127.0.0.1
user root
allow_anonymous true
persistence false
sys_interval 0
log_dest stderr
log_timestamp false
