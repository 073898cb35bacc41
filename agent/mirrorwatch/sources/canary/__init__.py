"""The canary at work: producer, consumer and the worker that has both."""
