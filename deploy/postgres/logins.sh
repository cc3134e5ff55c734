#!/bin/sh
# Logins of the services: each has rights on the schema of its service and on nothing else. Runs when a new database directory
# is made, and whenever a login changed: docker compose exec postgres /docker-entrypoint-initdb.d/logins.sh
# Reads lines `<service> <login> <password>`; logins of a service that have no line may not connect any more.
set -eu
file=${DATABASE_LOGINS:-/run/secrets/database_logins}
psql() { command psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"; }

psql <<'SQL'
SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
REVOKE ALL ON SCHEMA public FROM PUBLIC;
SQL

cut -d ' ' -f 1 "$file" | sort -u | while read -r service; do
  SERVICE=$service psql <<'SQL'
\getenv service SERVICE
SELECT format('CREATE ROLE %I NOLOGIN', :'service') WHERE to_regrole(:'service') IS NULL \gexec
SELECT format('CREATE SCHEMA %I', :'service') WHERE to_regnamespace(:'service') IS NULL \gexec
SELECT format('ALTER SCHEMA %I OWNER TO %I', :'service', :'service') \gexec
-- Of the time when all services had one login.
SELECT format('ALTER %s %s OWNER TO %I', CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass, :'service')
  FROM pg_class c WHERE relnamespace = :'service'::regnamespace AND relowner <> :'service'::regrole AND relkind IN ('r', 'p', 'v', 'S')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND relkind = 'S' AND deptype IN ('a', 'i')) \gexec
SELECT format('ALTER ROUTINE %s OWNER TO %I', oid::regprocedure, :'service')
  FROM pg_proc WHERE pronamespace = :'service'::regnamespace AND proowner <> :'service'::regrole \gexec
SELECT format('ALTER ROLE %I NOLOGIN', m.rolname) FROM pg_auth_members JOIN pg_roles m ON m.oid = member
  WHERE roleid = :'service'::regrole AND NOT m.rolsuper \gexec
SQL
done

while read -r service login password; do
  SERVICE=$service LOGIN=$login PASSWORD=$password psql <<'SQL'
\getenv service SERVICE
\getenv login LOGIN
\getenv password PASSWORD
SELECT format('CREATE ROLE %I', :'login') WHERE to_regrole(:'login') IS NULL \gexec
SELECT format('ALTER ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD %L', :'login', :'password') \gexec
SELECT format('GRANT %I TO %I', :'service', :'login') \gexec
-- What it makes belongs to the service, whichever of its logins is in use.
SELECT format('ALTER ROLE %I SET role = %I', :'login', :'service') \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), :'login') \gexec
SQL
done <"$file"
