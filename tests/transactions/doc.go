// Package transactions holds a directory in which Apache Kafka ran transactions against Kafka itself: what zurau answers from
// a copy of it, after an orderly stop of Kafka and after kill -9, is what Kafka answered, byte for byte.
//
// It needs Kafka, and so it is a step of .ci/run: ZURAU_KAFKA names the script that starts one, and without it the tests are
// skipped.
package transactions
