module agenttool

go 1.24
