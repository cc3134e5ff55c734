-- CreateTable
CREATE TABLE "brain"."brain_heartbeats" (
    "session_key" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "caller" JSONB NOT NULL,
    "beats" BIGINT NOT NULL,
    "last_beat_at" TIMESTAMPTZ(3),
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_heartbeats_pkey" PRIMARY KEY ("session_key")
);

-- CreateIndex
CREATE INDEX "brain_heartbeats_due_at_idx" ON "brain"."brain_heartbeats"("due_at");

-- CreateIndex
CREATE INDEX "brain_heartbeats_principal_idx" ON "brain"."brain_heartbeats"("principal");
