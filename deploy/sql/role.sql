-- Makes the role of the hosts, whose password is in the variable `password` of psql; run by the owner of
-- the database. `grants.sql` then gives it what a host needs.
SELECT format('CREATE ROLE host LOGIN PASSWORD %L', :'password')
WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'host')
\gexec
