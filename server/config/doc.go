// Package config is the table of Apache Kafka's configuration keys as of 4.4, with zurau's own beside them, and what
// follows from a table of keys: checking a value, reading server.properties, working out what a topic's or a broker's
// settings come to, describing them, changing them.
//
// It is data and parsing. It holds no state that changes, talks to nobody and knows no error codes; the room that
// stores dynamic configs and the one that speaks the protocol bring them along as maps from name to value.
//
// # Words
//
// A key has a kind: topic, broker, group or client metrics. A value is a string as somebody wrote it; its canonical
// form is the one that DescribeConfigs shows. A broker's value comes from the first of these that has one:
//
//	dynamic          set by IncrementalAlterConfigs for this broker
//	dynamic default  set by IncrementalAlterConfigs for the broker named "", for all brokers
//	static           --set KEY=VALUE, then the environment, then server.properties: see Load
//	default          of the key
//
// A topic's value is its own, or that of its broker's key of another name (Key.Broker): retention.ms falls back to
// log.retention.ms. Some of those have coarser synonyms, log.retention.minutes and log.retention.hours, which count only
// where the finer one has no value in any layer.
//
// # Use
//
//	static, err := config.Load(config.Options{File: "server.properties", Environ: os.Environ(), Set: flags})
//	layers := config.Layers{Static: static, Dynamic: ofThisBroker, DynamicDefault: ofAll}
//	broker := layers.Broker()
//	topic := config.EffectiveTopic(ofTheTopic, ofThisBroker, ofAll, static)
//	next, err := layers.Alter(config.KindTopic, "orders", ofTheTopic, changes)
//
// # Where it departs from Kafka
//
//   - NaN is not a double here. Kafka takes it, and no range then refuses it.
//   - Values with a zero byte are refused.
//   - Keys that Kafka cannot start without have a default: node.id, process.roles; and log.dir and listeners have another
//     one, so that a broker with nothing set keeps its logs in its own folder and listens on the loopback address.
//   - Unknown keys of a broker are kept and described without their value, as in Kafka, but up to a limit, and none that
//     begins with zurau.
//   - A list of a broker with repetitions is taken and its repetitions dropped, as everywhere; Kafka refuses it when it is
//     set on a running broker.
//   - Messages say what was expected; Kafka's say what was wrong.
//
// Odd and as in Kafka: APPEND and SUBTRACT are refused on the lists of groups and client metrics, and bad values of a broker
// are an invalid request where those of a topic are an invalid config.
//
// # Non-obvious
//
// A value in a map that its key cannot have is treated as not there: it was checked when it was set, by this or by an
// older version, and a broker that cannot start because of one cannot be repaired through itself.
//
// A key of the file with a listener's name before it (listener.name.internal.ssl.keystore.location) is read through
// Layers.Text and its like under that name, and falls back to the key without it.
//
// Everything here may be called from any goroutine.
package config
