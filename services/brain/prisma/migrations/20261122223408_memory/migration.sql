-- CreateTable
CREATE TABLE "brain"."brain_memory" (
    "key" TEXT NOT NULL,
    "workspace" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "version" BIGINT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),
    "by" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_memory_pkey" PRIMARY KEY ("key")
);

-- CreateIndex
CREATE INDEX "brain_memory_workspace_idx" ON "brain"."brain_memory"("workspace");

-- CreateIndex
CREATE INDEX "brain_memory_expires_at_idx" ON "brain"."brain_memory"("expires_at");
