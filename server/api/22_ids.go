package api

type producerIDs struct{}
