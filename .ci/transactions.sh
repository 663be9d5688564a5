# What zurau answers from a directory in which Kafka ran transactions, beside what Kafka answered.

step_transactions() {
  oracle "that a directory with transactions is served as Kafka serves it" || return 0
  built
  ZURAU_BINARY=$zurau ZURAU_KAFKA=$shared/oracle/kafka go test -count=1 ./tests/transactions
}
