#!/bin/bash
# restore.sh FOLDER: puts back what backup.sh kept. Nothing of the cluster may run, gateways neither. Needs DATABASE_URL (of
# whoever may make schemas), SVC_DATA_DIR, and HABITAT_DATA_DIR as at the backup; the directories may not hold data yet.
set -euo pipefail
umask 077
[ $# = 1 ] || { echo "usage: restore.sh FOLDER" >&2; exit 2; }
folder=$1 data=${SVC_DATA_DIR:-./data} habitat=${HABITAT_DATA_DIR:-${SVC_DATA_DIR:-./data}}
: "${DATABASE_URL:?is needed: the database to restore into}"
for part in database files.tar audit; do
  [ -e "$folder/$part" ] || { echo "$folder is no backup: $part is missing" >&2; exit 1; }
done
for taken in "$data/brains" "$habitat/audit"; do
  [ ! -e "$taken" ] || { echo "$taken is there already: move it away first" >&2; exit 1; }
done
sql() { psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 --dbname "$DATABASE_URL" --command "$1"; }
alive=$(sql "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%-%/%'")
[ "$alive" = 0 ] || { echo "$alive connections of the cluster are open: stop all its processes first" >&2; exit 1; }

for schema in $(pg_restore --list "$folder/database" | awk '$4 == "SCHEMA" && $6 != "public" { print $6 }'); do
  sql "DROP SCHEMA IF EXISTS \"$schema\" CASCADE"
done
pg_restore --exit-on-error --single-transaction --dbname "$DATABASE_URL" "$folder/database"
mkdir -p "$data" "$habitat"
tar --extract --file "$folder/files.tar" --directory "$data"
cp -pR "$folder/audit" "$habitat/audit"
echo "$folder is restored: start everything"
