-- CreateTable
CREATE TABLE "brain"."brain_file_homes" (
    "brain_id" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "workspace" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "brain_file_homes_pkey" PRIMARY KEY ("brain_id","path")
);

-- CreateIndex
CREATE INDEX "brain_file_homes_at_idx" ON "brain"."brain_file_homes"("at");
