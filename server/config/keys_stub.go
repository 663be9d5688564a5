package config

var brokerKeys, groupKeys, clientMetricsKeys []Key
