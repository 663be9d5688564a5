// Package clients tests a zurau process with the Go clients that people use: franz-go, sarama and kafka-go. What is asserted
// is what a user of those libraries relies on: what was sent comes back in order and once, groups share partitions and
// take over, commits outlive the broker, admin calls do what they say. kcat, Java and Python are .ci/run's business.
package clients
