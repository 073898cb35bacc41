"""JMX metrics of the mirror: Jolokia, JMX exporter and RMI."""
