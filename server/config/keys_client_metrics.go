package config

// clientMetricsKeys are the keys of a client metrics subscription.
var clientMetricsKeys = []Key{
	{"interval.ms", Int, "300000", between{100, 3600000}, Medium, 0, Inert, "",
		"Time between two metrics messages of a client (KIP-714)."},
	{"match", List, "", setOf{}, Medium, 0, Inert, "",
		"Clients that the subscription is for, as NAME=PATTERN; all names must match. Empty is every client."},
	{"metrics", List, "", setOf{}, Medium, 0, Inert, "",
		"What the names of the metrics begin with; * is all, empty is none."},
}
