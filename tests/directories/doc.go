// Package directories moves log directories between Apache Kafka and zurau, and holds what clients read from the one
// against what they read from the other:
//
//	TestDirectoriesOfApacheKafkaAreServedAsKafkaServesThem   two that Kafka 4.4 wrote, with their contents as text; no Java
//	TestADirectoryGoesFromKafkaToZurauAndBackTwice           Kafka → zurau → Kafka → zurau, with Kafka itself
//	TestSeveralDirectoriesGoFromKafkaToZurauAndBack          two of one broker, in the same way
//
// Both look beside the repository, in ../shared/kafka/directories and for ../shared/oracle/kafka, and are skipped where
// that is not there. The others need Java with Kafka's jars, and are skipped unless one of these is set:
//
//	ZURAU_KAFKA      one way of the second: Kafka is killed and then stopped in order, and so is zurau; and all of the third
//	ZURAU_LONG       all ways
//
//	ZURAU_STREAMS    the jar of Kafka Streams, for two applications (testdata/WordCount.java) that write on the way
//	ZURAU_DIRECTORY  a folder for the directory, which stays there for others to look at (not with ZURAU_LONG)
package directories
