// Package directories moves log directories between Apache Kafka and zurau, and holds what clients read from the one
// against what they read from the other:
//
//	TestDirectoriesOfApacheKafkaAreServedAsKafkaServesThem   two that Kafka 4.4 wrote, with their contents as text; no Java
//	TestADirectoryGoesFromKafkaToZurauAndBackTwice           Kafka → zurau → Kafka → zurau, with Kafka itself
//
// Both look beside the repository, in ../shared/kafka/directories and for ../shared/oracle/kafka, and are skipped where
// that is not there; the second one needs Java with Kafka's jars, and ZURAU_LONG.
package directories
