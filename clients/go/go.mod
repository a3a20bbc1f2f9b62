module github.com/keystile/keystile/clients/go

go 1.23
