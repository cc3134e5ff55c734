#!/bin/sh
# Answers git's question for a user name or a token, but only when it asks for the one origin it was started for.
scheme=${SVC_ASKPASS_ORIGIN%%://*}
host=${SVC_ASKPASS_ORIGIN#*://}
case "$1" in
  "Username for '$scheme://$host': ") printf '%s\n' "$SVC_ASKPASS_USER" ;;
  "Password for '$scheme://$SVC_ASKPASS_USER@$host': ") printf '%s\n' "$SVC_ASKPASS_TOKEN" ;;
  *) exit 1 ;;
esac
