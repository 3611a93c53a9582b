module petstore-peers/go

go 1.22
