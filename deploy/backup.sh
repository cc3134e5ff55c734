#!/bin/bash
# backup.sh FOLDER: everything of a cluster that must be kept, into a new folder. No brain process may run meanwhile; everything
# else may. Needs DATABASE_URL (of whoever may read all schemas), SVC_DATA_DIR of the brains, and HABITAT_DATA_DIR where the
# registry has another one.
set -euo pipefail
umask 077
[ $# = 1 ] || { echo "usage: backup.sh FOLDER" >&2; exit 2; }
folder=$1 data=${SVC_DATA_DIR:-./data} habitat=${HABITAT_DATA_DIR:-${SVC_DATA_DIR:-./data}}
: "${DATABASE_URL:?is needed: the database to keep}"
[ -d "$data/brains" ] || { echo "SVC_DATA_DIR: there are no brains in $data" >&2; exit 1; }
alive=$(psql --no-psqlrc --tuples-only --no-align --dbname "$DATABASE_URL" --command \
  "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%-brain/%'")
[ "$alive" = 0 ] || { echo "a brain process is connected to the database: stop the brain processes first" >&2; exit 1; }
mkdir "$folder"

# The audit's signed ends come first: ends of a time before the database's can be found in it, later ones would be missing.
mkdir "$folder/audit"
if [ -d "$habitat/audit" ]; then cp -p "$habitat/audit/." "$folder/audit/" -R; fi
# One moment of all services, whatever they do.
pg_dump --format=custom --file "$folder/database" --dbname "$DATABASE_URL"
# At rest, because nobody works on them.
tar --create --file "$folder/files.tar" --directory "$data" \
  --exclude ./cache --exclude ./audit --exclude ./database --exclude './service.lock*' --exclude './service.address*' .
echo "$folder holds the database, the files of the brains and the checkpoints of the audit"
