module petstore-bench/go-net-http

go 1.22
