-- The boundary of a workspace is a policy like others, of the resource that stands for what is at home there.
INSERT INTO "habitat"."policies"
    ("resource", "readable_by", "writable_by", "container", "filter", "mask", "version", "updated_at", "updated_by")
  SELECT '_home:' || "workspace_id", ARRAY(SELECT json_array_elements_text("policy"->'readableBy')),
    ARRAY(SELECT json_array_elements_text("policy"->'writableBy')), "workspace_id", "policy"->'filter', "policy"->'mask',
    1, clock_timestamp(), 'system'
  FROM "habitat"."workspaces" WHERE "policy" IS NOT NULL AND "policy"->'readableBy' IS NOT NULL
  ON CONFLICT DO NOTHING;
