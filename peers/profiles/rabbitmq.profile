title: AMQP broker
program: /usr/lib/rabbitmq/bin/rabbitmq-server
package: rabbitmq-server
port: 5672
offers: no queues, and the user guest with the password guest

# There is no node elsewhere, so the daemon that would find one is not started.
command: /usr/lib/rabbitmq/bin/rabbitmq-server
directory: {own}
environment: HOME={own} RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_NODE_PORT={port}
  RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 RABBITMQ_CONF_ENV_FILE=/dev/null
  RABBITMQ_CONFIG_FILE={own}/rabbitmq.conf RABBITMQ_ENABLED_PLUGINS_FILE={own}/enabled_plugins
  RABBITMQ_MNESIA_BASE={own}/mnesia RABBITMQ_LOG_BASE={own}/log RABBITMQ_LOGS=-
  'RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=-start_epmd false -erl_epmd_port 25672 +S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none'
ready timeout: 2m
-- enabled_plugins --
[].
-- rabbitmq.conf --
heartbeat = 0
collect_statistics_interval = 86400000
vm_memory_high_watermark.absolute = 1GB
disk_free_limit.absolute = 1MB
log.console.level = warning
